"""The methods that the benchmark compares, one small file each. To add one, write its file and name it here."""

from methods import abess, adelie, celer, fastsparsegams, glmnet, pmf, skglm, sklearn, vg
from methods.base import Fits, Method, Task

__all__ = ["METHODS", "Fits", "Method", "Task"]

METHODS: dict[str, Method] = {
    module.METHOD.name: module.METHOD
    for module in (vg, pmf, sklearn, celer, skglm, adelie, glmnet, abess, fastsparsegams)
}
