"""AdamW with a linear warm-up and a cosine down to zero."""

import math
from collections.abc import Sequence

from torch import nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR


def adamw(
    net: nn.Module,
    *,
    lr: float,
    betas: Sequence[float],
    weight_decay: float,
    warmup: float,
    max_steps: int,
) -> tuple[AdamW, LambdaLR]:
    """Decays the weights of linear maps alone: biases, norms and tables are left as they are.

    `warmup` is the share of `max_steps` over which the rate rises to `lr`.
    """
    matrices = {id(module.weight) for module in net.modules() if isinstance(module, nn.Linear)}
    decayed = [parameter for parameter in net.parameters() if id(parameter) in matrices]
    others = [parameter for parameter in net.parameters() if id(parameter) not in matrices]
    optimizer = AdamW(
        [
            {"params": decayed, "weight_decay": weight_decay},
            {"params": others, "weight_decay": 0.0},
        ],
        lr=lr,
        betas=(betas[0], betas[1]),
        fused=True,
    )
    rising = max(1, round(warmup * max_steps))

    def share(step: int) -> float:
        if step < rising:
            return (step + 1) / rising
        return 0.5 * (1 + math.cos(math.pi * (step - rising) / max(1, max_steps - rising)))

    return optimizer, LambdaLR(optimizer, share)
