from garrote.arrays import Array

def pmf_sweep(
    X: Array,
    sq_norms: Array,
    tau: Array,
    bias: Array,
    noise_variance: float,
    residual: Array,
    m: Array,
    w: Array,
) -> None: ...
def gibbs_sweep(
    X: Array,
    sq_norms: Array,
    tau: Array,
    bias: Array,
    noise_variance: float,
    residual: Array,
    v: Array,
    inclusion: Array,
    mean: Array,
    uniforms: Array,
    normals: Array,
) -> None: ...

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
    def run(
        self,
        theta: Array,
        gamma: Array,
        ridge: float,
        beta: float | None,
        tol: float,
        max_iter: int,
        most: float,
    ) -> Array: ...
    def result(self) -> tuple[Array, Array, Array, Array, Array, float, float, float]: ...
