"""How a bad line or a bad machine spoils a page."""

from typing import Annotated

from pydantic import Field

from clerkship.model.frozen import Frozen, Whole

Share = Annotated[float, Field(ge=0, le=1)]


class Degradation(Frozen):
    """What is wrong with the pages of a fax. The same seed spoils the same page in the same way."""

    noise: Annotated[float, Field(ge=0, le=5, description="percent of dots that are flipped")] = 0
    speckle: Annotated[Whole, Field(ge=0, le=5000, description="black and white spots on a page")] = 0
    skew: Annotated[float, Field(ge=-3, le=3, description="degrees by which the page is turned")] = 0
    missing_lines: Annotated[
        Whole, Field(ge=0, le=500, description="scan lines that are lost, in bursts; the line above is repeated")
    ] = 0
    streaks: Annotated[Whole, Field(ge=0, le=20, description="vertical black lines of a dirty scanner")] = 0
    cut: Annotated[Share, Field(description="share of the page that is cut off at the bottom")] = 0
