"""A small benchmark about orders in a shop: a simulator, an assertion on its end state, an event and an agent."""

from clerkship.plugin import Plugin
from shop_bench.agent import PolicyConsulted, load_agent
from shop_bench.simulator import SPEC

PLUGIN = Plugin(contract=2, simulators=(SPEC,), events=(PolicyConsulted,), agents={"shop": load_agent})
