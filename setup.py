"""The compiled loops. They are optional: without a compiler the plain NumPy twins serve."""

import sys

from setuptools import Extension, setup

COMPILED = ("_conjugate", "_descent", "_exchange", "_fast", "_packed", "_passes", "_search", "_system")

#: No loop asks for the errno of sqrt or for floating-point exceptions; sums marked so may be taken in any order.
FLAGS = [] if sys.platform == "win32" else ["-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd"]

setup(
    ext_modules=[
        Extension(
            f"garrote.{name}",
            [f"src/garrote/{name}.pyx"],
            depends=["src/garrote/_vectors.h", "src/garrote/_single.h"],
            extra_compile_args=FLAGS,
            optional=True,
        )
        for name in COMPILED
    ]
)
