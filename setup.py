"""The compiled loops. They are optional: without a compiler the plain NumPy twins serve."""

import sys
from glob import glob

from setuptools import Extension, setup

COMPILED = ("_conjugate", "_descent", "_exchange", "_fast", "_outside", "_packed", "_passes", "_search", "_system")

#: No loop asks for the errno of sqrt or for floating-point exceptions; sums marked so may be taken in any order.
FLAGS = [] if sys.platform == "win32" else ["-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd"]

#: The search extrapolates as the plain one does, to the last digit: no product is added unrounded.
EXTRA = {} if sys.platform == "win32" else {"_search": ["-ffp-contract=off"]}

setup(
    ext_modules=[
        Extension(
            f"garrote.{name}",
            [f"src/garrote/{name}.pyx"],
            depends=glob("src/garrote/*.h"),
            extra_compile_args=FLAGS + EXTRA.get(name, []),
            optional=True,
        )
        for name in COMPILED
    ]
)
