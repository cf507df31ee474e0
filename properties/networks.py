"""The networks that `quidnunc explore` and `quidnunc prove` know by name."""

from __future__ import annotations

from quidnunc.model.errors import SpecError
from quidnunc.properties.network_dog_cut_off import dog_cut_off
from quidnunc.properties.network_dog_relays import TEXTS
from quidnunc.properties.network_dog_routes import REVISIONS, dog_routes
from quidnunc.properties.network_flow import FLOWS, mesh_flow
from quidnunc.properties.network_idontwant import REVISIONS as ORDERS
from quidnunc.properties.network_idontwant import idontwant_forged
from quidnunc.properties.network_links import VARIANTS
from quidnunc.properties.network_mesh_link import mesh_link
from quidnunc.properties.network_rules import Network
from quidnunc.properties.network_star import STARS, mesh_star

NETWORKS = (*VARIANTS, *STARS, *FLOWS, *REVISIONS, *TEXTS, *ORDERS)
MAX_PEERS = 8


def network_named(name: str, *, peers: int, d_high: int) -> Network:
    """The network of that name. Raises SpecError where it does not fit or its parameters make no sense."""
    if name not in NETWORKS:
        raise SpecError(f"no network {name!r}; there are {', '.join(NETWORKS)}")
    if not 2 <= peers <= MAX_PEERS:
        raise SpecError(f"{name} is of 2 to {MAX_PEERS} peers, not {peers}")
    if d_high < 1:
        raise SpecError(f"{name} needs a D_high of at least 1, not {d_high}")
    if name in REVISIONS:
        return dog_routes(name, peers=peers)
    if name in TEXTS:
        return dog_cut_off(name, peers=peers)
    if name in FLOWS:
        return mesh_flow(name, peers=peers)
    if name in STARS:
        return mesh_star(name, peers=peers, d_high=d_high)
    if name in ORDERS:
        return idontwant_forged(name, peers=peers)
    return mesh_link(name, peers=peers, d_high=d_high)
