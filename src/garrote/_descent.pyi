from garrote.arrays import Array

class BlockDescent:
    n_iter: int
    n_factorizations: int
    converged: bool
    def __init__(
        self,
        root: Array | None,
        target: Array | None,
        gram: Array,
        chi: Array,
        b: Array,
        floor: float,
        sigma2_y: float,
        n_samples: float,
    ) -> None: ...
    def retarget(self, target: Array | None, b: Array, floor: float) -> None: ...
    def run(
        self,
        theta: Array,
        w: Array | None,
        gamma: Array,
        ridge: float,
        beta: float | None,
        tol: float,
        max_iter: int,
        most: float,
        rival: Array | None,
        rival_energy: float,
        to_beat: bool,
        traced: bool,
    ) -> Array: ...
    def result(self) -> tuple[Array, Array, Array, Array, Array, float, float, float]: ...
