"""The compiled loops. They are optional: without a compiler the plain NumPy twins serve."""

from setuptools import Extension, setup

COMPILED = ("_descent", "_exchange", "_fast", "_packed", "_passes", "_search")

setup(ext_modules=[Extension(f"garrote.{name}", [f"src/garrote/{name}.pyx"], optional=True) for name in COMPILED])
