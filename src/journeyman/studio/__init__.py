"""The studio: a local page where an expert answers the questions that matter, and everyone sees what was learned.

One process serves the page and writes the study; for every study a second one computes: it updates the belief, prepares
questions ahead, and looks whether the certificate holds. So nobody waits for the sampler, and killing either of the two
loses nothing that was acknowledged.

    desks       what each person has before them, kept in the study file
    worker      the process that computes; link: its other end
    session     one study that is open: a writer, its questions, its people
    acting      what a person can do to a question, as operations of the writer
    describing  problems, questions and history as plain data
    making      new studies from worlds and from problems that are sent
    security    tokens, hosts, limits
    app         the routes; serving: the command behind it
"""

from typing import TYPE_CHECKING, Any

from journeyman.extras import require

if TYPE_CHECKING:
    from fastapi import FastAPI

    from journeyman.study import Study


def create_app(study: "Study | None" = None, **options: Any) -> "FastAPI":
    """Return the studio as an ASGI application, for a study or for a folder of them; options as in `app.Options`.

    Every request needs the token, `app.state.studio.token`: as `?token=` of the page, or as `Authorization: Bearer`.
    """
    require("fastapi", "studio")
    from journeyman.studio.app import Options, make_app

    return make_app(study, Options(**options))


__all__ = ["create_app"]
