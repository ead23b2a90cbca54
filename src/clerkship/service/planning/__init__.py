"""Plan a run in five steps: load, select, freeze, choose models, plan.

Each step is a function of the result before it. Commands that start from files begin with `load`; those that start from
a run in the store begin with frozen tasks. All of them end with a `RunPlan`.

See docs/decisions/0010-planning-resume-and-fork.md.
"""
