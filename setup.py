"""The compiled loops. They are optional: without a compiler the plain NumPy twins serve."""

from setuptools import Extension, setup

setup(ext_modules=[Extension("garrote._fast", ["src/garrote/_fast.pyx"], optional=True)])
