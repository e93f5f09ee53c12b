"""What is computed for the paper's tables and figures: pure functions of their parameters and a seed."""
