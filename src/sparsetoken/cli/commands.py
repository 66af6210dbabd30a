"""The commands, and the modules that they are in, which are imported when they run."""

GROUPS = {
    "Theory": {
        "align": "theory",
        "predict": "theory",
        "capacity": "theory",
        "descend": "descend",
        "minimize": "minimize",
        "bayes": "theory",
        "represent": "represent",
    },
    "Experiments at finite dimension": {"simulate": "theory", "reproduce": "reproduce"},
    "Pages": {"explore": "explore"},
}
"""Those of the theory, by the heading of the help."""

BAGS = {
    "pack": "bags",
    "fit": "fit",
    "predict": "bags",
    "score": "bags",
    "tokens": "tokens",
    "forecast": "bags",
    "report": "report",
}
"""Those of the group bags."""

COMMANDS = {name: module for group in GROUPS.values() for name, module in group.items()}
