"""ICL, the ideal continual learner: fit the new row while all earlier rows stay fitted."""

from __future__ import annotations

from orfit_bench.catalogue.laws.icl import LAWS
from orfit_bench.catalogue.shared.declarations import BASIS, MEMORY, WEIGHTS, max_directions
from orfit_bench.catalogue.shared.least_squares import min_norm_within_memory
from orfit_bench.catalogue.shared.merging import UNION
from orfit_bench.spec import Combine, Cost, Growth, KernelSpec, Method, StateSpec, Theory

METHOD = Method(
    name="icl",
    summary="ideal continual learner: fit each new row while all earlier rows stay fitted exactly",
    use_when="Targets are free of noise, there are fewer independent rows than parameters, and all earlier rows must "
    "stay fitted exactly.",
    avoid_when="Targets are noisy: icl interpolates the rows including their noise; rls with a ridge averages it "
    "out. There are many rows: storage and time per row grow with the number of rows, up to d^2, and orfit with a "
    "limited memory is cheaper. The scales of columns differ by 1e7 or more (1e3 in float32): a row whose new part is "
    "that small counts as dependent on earlier ones and is not fitted.",
    formulas="r = x - U U'x\nw <- w + e r / (x'r)\nU <- [U r/|r|] while there is room",
    source="survey, Proposition 1 and Remark 1",
    settings=(MEMORY,),
    state=StateSpec((WEIGHTS, BASIS), growth=Growth("direction", max_directions)),
    kernel=KernelSpec(models=True, blocks=True),
    theory=Theory(
        laws=LAWS,
        batch=min_norm_within_memory,
        cost=Cost(  # block Gram-Schmidt of the rows
            flops=lambda s, z: (4 * z["count"] + 4 * z["output"] + 4) * z["parameter"],
            floats=lambda s, z: (2 + 2 * z["output"]) * z["parameter"],
        ),
    ),
    combine=Combine(UNION),
)
