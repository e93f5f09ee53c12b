"""Data in the formats and engines that people already have."""
