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
