"""Phone trees: menus, data entry, queues and representatives, without sound and without a clock.

`nodes` and `tree` are the format that authors write, and `tree_check` finds mistakes in it. `machine` decides what a
line does next, from what the caller did.
"""
