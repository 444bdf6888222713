"""Sources of position ids: `base` is the contract, `marked` what two of the sources share."""
