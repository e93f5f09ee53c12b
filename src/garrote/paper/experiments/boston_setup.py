"""The paper's set-up of the Boston data: which rows train, and by which constants the columns are standardised."""

#: The rows (from 0, in the original order) that are not in the training set; 455 remain where the paper says 456.
# fmt: off
LEFT_OUT = [
    5, 8, 11, 15, 17, 21, 41, 43, 58, 62, 63, 83, 96, 104, 109, 114, 120, 126, 130, 135, 144, 162, 179, 186, 196,
    210, 235, 238, 261, 262, 263, 269, 272, 273, 284, 321, 322, 329, 335, 365, 384, 386, 387, 394, 431, 441, 473,
    474, 475, 478, 488,
]

#: The means used for the 13 inputs and then y; close to, but not exactly, those of the 506 rows.
OFFSET = [
    3.61341, 11.363607, 11.131899, 0.06719, 0.553731, 6.26916, 68.469013, 3.78872, 9.543479, 407.856048, 18.420399,
    355.897993, 12.644299, 22.532798,
]

#: The standard deviations used for the 13 inputs and then y; close to, but not exactly, those of the 506 rows.
SCALE = [
    8.593089, 23.299403, 6.860589, 0.25813, 0.118319, 0.752188, 28.277811, 2.11021, 8.704133, 169.075123, 2.312742,
    92.555582, 7.146841, 9.188011,
]
# fmt: on
