"""Clients of each version on servers of each version.

What a client is asked, and what comes of its calls, must be as it is when the same client talks to
the same server in its own version. Where a client can't show something, a person answers on a page.
"""

import dataclasses

from places import clients, gateway_of, wrapped
from record import Wrong, pinned, questions, results
from people import Desktop, page
from same import asking_servers
import scripts
from scripts import ALL, BOTH, FORMS, L6, L11, M, NOTHING

KINDS = {"nothing": NOTHING, "forms": FORMS, "forms and URLs": BOTH, "everything": ALL}


def run(setting) -> None:
    for client in clients(setting):
        if not setting.all and client.name != "typescript 2":
            continue
        for version in (L6, L11, M):
            if (client.version < M) == (version < M) and not setting.all:
                continue
            cell(setting, client, version)


def cell(setting, client, version) -> None:
    servers = asking_servers(setting)
    if not setting.all or version == L6:
        # The others ask for URLs in 2025-06-18 too, which has none.
        servers = {"example": servers["example"]}
    for name, command in servers.items():
        script = scripts.asking(rounds=False)[1:]
        # Such a form has no field for several tags.
        person = {name: value for name, value in scripts.PERSON.items() if name != "tags" or version != L6}
        answers = scripts.answers(scripts.accept(person))
        direct = native(setting, client, version).run({"command": command}, script, ALL, answers)
        wanted = (said(direct), asked(direct))
        for kind, capabilities in KINDS.items():
            if not setting.all and kind == "forms and URLs":
                continue
            if client.name == "python" and kind == "forms":
                # This SDK always declares both.
                continue

            def work(capabilities=capabilities, command=command) -> str:
                desktop = Desktop(setting.scratch())
                server = {"command": wrapped(setting, pinned(version, command))}
                pages = pages_for(client, capabilities, version)
                with desktop.answering(*pages):
                    through = client.run(server, script, capabilities, answers, desktop.environment)
                expect(said(through), wanted[0], "results")
                if not pages:
                    expect(asked(through), wanted[1], "questions")
                return f"{len(wanted[0])} results, {len(asked(through))} questions shown, {len(pages)} pages"

            line = f"{client} on {name} in {version}, declaring {kind}, stdio"
            setting.tried("crossed", line, work)
            if not setting.all or kind != "everything" or client.version == L6:
                continue
            way = {"peer": {"command": pinned(version, command)}}

            def over_http(way=way) -> str:
                with gateway_of(setting, way) as front:
                    through = client.run({"url": f"{front}/peer"}, script, ALL, answers)
                expect(said(through), wanted[0], "results")
                expect(asked(through), wanted[1], "questions")
                return f"{len(wanted[0])} results"

            setting.tried("crossed", f"{client} on {name} in {version}, HTTP", over_http)


def native(setting, client, version: str):
    """The client whose run this one is compared with. In 2025-06-18, servers have no URLs and no
    lists to choose several from, so they are compared in that version; clients are not, since
    pages have both.
    """
    if version == L6:
        return next(each for each in clients(setting) if each.version == L6)
    return dataclasses.replace(client, version=max(client.version, L11))


def pages_for(client, capabilities, version: str) -> list:
    """How the person answers what this client can't show, in the order of the script."""
    modes = capabilities.get("elicitation")
    if version == L6:
        # Such a server has no URLs, and asks what this client can show.
        answers = {name: value for name, value in scripts.PERSON.items() if name != "tags"}
        return [page("send", **{**answers, "ok": "false"})] if modes is None else []
    pages = []
    if modes is None or client.version == L6:
        pages.append(page("send", **{**scripts.PERSON, "ok": "false"}))
    if modes is None or "url" not in modes or client.version == L6:
        pages.append(page("send"))
    return pages


def said(log) -> list:
    """What came of the calls; a call may have taken several requests."""
    final = []
    for to, response in results(log):
        if "requestState" in response.get("result", {}) or "inputRequests" in response.get("result", {}):
            continue
        final.append((to, response))
    return final


def asked(log) -> list:
    """What the client was asked, without what only one version has."""
    plain = []
    for params in questions(log):
        params = {"mode": "form", **params}
        params.pop("elicitationId", None)
        params.pop("_meta", None)
        plain.append(params)
    return plain


def expect(found: list, wanted: list, what: str) -> None:
    if found != wanted:
        pairs = [(f, w) for f, w in zip(found, wanted) if f != w]
        raise Wrong(f"{what} differ: {len(found)} of {len(wanted)}\nfound  {pairs[0][0] if pairs else found}"
                    f"\nwanted {pairs[0][1] if pairs else wanted}")
