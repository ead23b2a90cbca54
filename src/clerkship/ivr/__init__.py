"""Phone trees: menus, data entry, queues and representatives, without sound and without a clock.

`tree` is the format that authors write. `machine` decides what a line does next, from what the caller did.
"""
