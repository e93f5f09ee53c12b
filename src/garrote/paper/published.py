"""The figures that the paper prints: method → measure → (mean, spread over the instances)."""

from __future__ import annotations

Figures = dict[str, dict[str, tuple[float, float]]]

_TRUE = {"train": (0.93, 0.14), "val": (0.87, 0.20), "test": (0.98, 0.04)}

TABLE1: Figures = {
    "ridge": {"train": (0.60, 0.43), "val": (1.72, 0.39), "test": (1.80, 0.12), "l1_error": (3.97, 1.23)},
    "lasso": {
        "train": (0.78, 0.26),
        "val": (1.07, 0.20),
        "test": (1.17, 0.20),
        "nonzero": (8.65, 6.75),
        "l1_error": (0.80, 0.57),
    },
    "pmf": {"test": (1.02, 0.10), "nonzero": (1.5, 1.19), "l1_error": (0.33, 0.37)},
    "vg": {
        "train": (0.85, 0.22),
        "val": (0.96, 0.17),
        "test": (1.01, 0.10),
        "nonzero": (1.20, 0.52),
        "l1_error": (0.31, 0.30),
    },
    "true": {**_TRUE, "nonzero": (1, 0), "l1_error": (0, 0)},
}

TABLE2: Figures = {
    "ridge": {"train": (0.32, 0.27), "val": (3.30, 0.67), "test": (3.46, 0.31), "l1_error": (11.09, 0.93)},
    "lasso": {
        "train": (0.75, 0.37),
        "val": (1.39, 0.37),
        "test": (1.48, 0.29),
        "nonzero": (16.30, 6.60),
        "l1_error": (2.08, 0.87),
    },
    "pmf": {"test": (1.06, 0.11), "nonzero": (5.15, 0.49), "l1_error": (0.67, 0.35)},
    "vg": {
        "train": (0.80, 0.25),
        "val": (1.13, 0.31),
        "test": (1.15, 0.21),
        "nonzero": (5.05, 0.51),
        "l1_error": (0.83, 0.54),
    },
    "true": {**_TRUE, "nonzero": (5, 0), "l1_error": (0, 0)},
}
#: Instances behind Tables 1 and 2.
EXAMPLE_INSTANCES = 20

#: Example → figures of the consistency table.
CONSISTENCY: dict[str, Figures] = {
    "a": {"ridge": {"l1_error": (0.64, 0.18)}, "lasso": {"l1_error": (0.19, 0.14)}, "vg": {"l1_error": (0.05, 0.03)}},
    "b": {"ridge": {"l1_error": (0.02, 0.02)}, "lasso": {"l1_error": (0.00, 0.00)}, "vg": {"l1_error": (0.00, 0.00)}},
}
#: Example → method → the largest |v₃| over 100 instances.
CONSISTENCY_MAX_V3 = {
    "a": {"ridge": 0.48, "lasso": 0.30, "vg": 0.00},
    "b": {"ridge": 0.27, "lasso": 0.00, "vg": 0.00},
}
CONSISTENCY_INSTANCES = 100

#: Row → start → mean error and its 95 % interval over 300 starts.
BOSTON = {
    "pmf": {"soft": (0.237, 0.001, 0.454), "extreme": (0.209, 0.001, 0.454)},
    "vg": {"soft": (0.006, 0.006, 0.006), "extreme": (0.006, 0.006, 0.006)},
}

#: ρ* in the caption of the phase plot.
RHO_STAR = 0.28
