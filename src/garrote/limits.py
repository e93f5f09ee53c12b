"""Numbers that every descent shares, compiled or not: where precision ends, and how far a step may go."""

import math

#: 1/β never falls below this fraction of σ_y²: there, the residual is rounding error. F goes on smoothly, with β fixed.
NOISE_FLOOR = 1e-20

#: A fit that leaves less than this fraction of σ_y² interpolates y: F → −∞ there, and lowest F means nothing.
INTERPOLATED = 1e-10

#: |θ| beyond which m is 0 or 1 in double precision and θ carries no information.
THETA_MAX = 500.0

#: Features with m(1 − m) below this are decided: Newton's step is the fixed-point step for them, to that accuracy.
DECIDED = 1e-4

#: With a larger |θ| than this a feature is decided.
SURE = -math.log(DECIDED) + 0.1

#: Largest change of a feature's θ in one Newton step; beyond it the quadratic model means nothing.
TRUST = 8.0

#: Relative accuracy of F; where a difference is smaller, the smaller residual decides.
ROUNDING = 1e-13

#: Relative accuracy of the residual y − x·v, in units of σ_y. The compiled descent takes the strong features' part out
#: of it and puts it back in, at 1.1e-16 each, at each of ten visits to the weak features; then it begins anew from y.
LOST_DIGITS = 2.2e-15
