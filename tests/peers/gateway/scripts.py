"""What is called: a script for each server, and how a client answers."""

import json
import pathlib

FORM = json.loads((pathlib.Path(__file__).parent.parent / "form.json").read_text())
ADDRESS = "https://example.com/connect?from=client&to=%C3%A9"

L6, L11, M = "2025-06-18", "2025-11-25", "2026-07-28"

NOTHING: dict = {}
FORMS = {"elicitation": {"form": {}}}
BOTH = {"elicitation": {"form": {}, "url": {}}}
ALL = {**BOTH, "sampling": {}, "roots": {"listChanged": True}}

# What the person enters into server-everything's form, and into that of `ask_form`.
WHOLE = {
    "name": "Ada Lovelace",
    "check": True,
    "firstLine": "Call me Ishmael.",
    "email": "ada@example.com",
    "homepage": "https://example.com/ada",
    "birthdate": "1815-12-10",
    "integer": 36,
    "number": 2.5,
    "untitledSingleSelectEnum": "Joey",
    "untitledMultipleSelectEnum": ["Piano", "Bass"],
    "titledSingleSelectEnum": "hero-2",
    "titledMultipleSelectEnum": ["fish-1", "fish-3"],
    "legacyTitledEnum": "pet-4",
}
PERSON = {"name": "Ada", "age": 36, "mail": "ada@example.com", "color": "r", "tags": ["a", "c"], "ok": False}


def accept(content: dict) -> dict:
    return {"form": {"action": "accept", "content": content}, "url": {"action": "accept"}}


def refuse(action: str) -> dict:
    return {"form": {"action": action}, "url": {"action": action}}


def answers(elicitation: dict, folder: str = "/tmp") -> dict:
    sampled = {"type": "text", "text": "sampled"}
    return {
        "elicitation/create": elicitation,
        "sampling/createMessage": {
            "model": "none", "role": "assistant", "content": sampled, "stopReason": "endTurn"
        },
        "roots/list": {"roots": [{"uri": f"file://{folder}", "name": "folder"}]},
    }


def request(method: str, **params) -> dict:
    return {"method": method, "params": params}


def call(name: str, *, progress: bool = False, cancel: int = 0, **arguments) -> dict:
    step = request("tools/call", name=name, arguments=arguments)
    if progress:
        step["progress"] = True
    if cancel:
        step["cancel"] = cancel
    return step


def everything(url_mode: bool = True) -> list[dict]:
    """Everything that server-everything offers, but for what is random or needs a network."""
    prompt = {"type": "ref/prompt", "name": "completable-prompt"}
    template = {"type": "ref/resource", "uri": "demo://resource/dynamic/text/{resourceId}"}
    document = "demo://resource/static/document/features.md"
    steps = [
        request("ping"),
        # Its roots are asked for 350 ms after the handshake.
        {"sleep": 800},
        request("logging/setLevel", level="debug"),
        request("tools/list"),
        request("prompts/list"),
        request("prompts/get", name="simple-prompt"),
        request("prompts/get", name="args-prompt", arguments={"city": "London", "state": "Kent"}),
        request("prompts/get", name="args-prompt", arguments={}),
        request("prompts/get", name="no-such-prompt"),
        request("completion/complete", ref=prompt, argument={"name": "department", "value": "E"}),
        request("completion/complete", ref=template, argument={"name": "resourceId", "value": "1"}),
        request("resources/list"),
        request("resources/templates/list"),
        request("resources/read", uri=document),
        request("resources/read", uri="demo://resource/dynamic/text/1"),
        request("resources/read", uri="demo://resource/dynamic/blob/2"),
        request("resources/read", uri="demo://no/such"),
        request("resources/subscribe", uri=document),
        request("resources/unsubscribe", uri=document),
        call("echo", message="grüße \u2028 \U0001f600 \\u0000"),
        call("echo"),
        call("no-such-tool"),
        call("get-sum", a=1e300, b=0.1),
        call("get-sum", a=9007199254740993, b=1),
        call("get-tiny-image"),
        call("get-annotated-message", messageType="error", includeImage=True),
        call("get-structured-content", location="Chicago"),
        call("get-resource-links", count=3),
        call("get-resource-reference", resourceType="Text", resourceId=1),
        call("get-env"),
        call("get-roots-list"),
        call("trigger-long-running-operation", progress=True, duration=0.4, steps=4),
        call("trigger-long-running-operation", cancel=300, duration=5, steps=10),
        call("trigger-sampling-request", prompt="Say something", maxTokens=10),
        call("trigger-elicitation-request"),
    ]
    if url_mode:
        steps += [
            call("trigger-url-elicitation", url=ADDRESS, elicitationId="e-1"),
            call("trigger-url-elicitation", url=ADDRESS, errorPath=True),
        ]
    return [*steps, call("echo", message="last")]


def tasks() -> list[dict]:
    """A task of server-everything, for clients that let a script name what came before."""
    task = {"ttl": 60_000}
    research = call("simulate-research-query", topic="gateways", ambiguous=False)
    research["params"]["task"] = task
    return [
        {"sleep": 800},
        research,
        request("tasks/get", taskId="$task"),
        request("tasks/result", taskId="$task"),
        request("tasks/list"),
        request("tasks/get", taskId="no-such-task"),
    ]


def unknown(has_roots: bool) -> list[dict]:
    """Beyond what all SDKs have methods for."""
    changed = {"notify": "notifications/roots/list_changed"}
    return [
        request("vendor/unknown", some={"thing": [1.0, None, "x"]}),
        {"notify": "notifications/vendor/unknown", "params": {"n": 1}},
        *([changed] if has_roots else []),
        {"sleep": 300},
    ]


def filesystem(folder: str) -> list[dict]:
    file = f"{folder}/note.txt"
    return [
        {"sleep": 500},
        request("tools/list"),
        call("list_allowed_directories"),
        call("write_file", path=file, content="one\ntwo\n"),
        call("read_text_file", path=file),
        call("edit_file", path=file, edits=[{"oldText": "two", "newText": "2"}], dryRun=False),
        call("read_multiple_files", paths=[file, f"{folder}/missing"]),
        call("create_directory", path=f"{folder}/sub/deep"),
        call("move_file", source=file, destination=f"{folder}/sub/moved.txt"),
        call("list_directory", path=folder),
        call("directory_tree", path=folder),
        call("search_files", path=folder, pattern="**/*.txt"),
        call("get_file_info", path=f"{folder}/sub/moved.txt"),
        call("read_text_file", path="/etc/hostname"),
    ]


def memory() -> list[dict]:
    ada = {"name": "Ada", "entityType": "person", "observations": ["writes programs"]}
    engine = {"name": "Engine", "entityType": "machine", "observations": ["has cogs"]}
    link = {"from": "Ada", "to": "Engine", "relationType": "programs"}
    seen = {"entityName": "Ada", "contents": ["is a countess"]}
    return [
        request("tools/list"),
        call("create_entities", entities=[ada, engine]),
        call("create_relations", relations=[link]),
        call("add_observations", observations=[seen]),
        call("search_nodes", query="countess"),
        call("open_nodes", names=["Engine"]),
        call("delete_observations", deletions=[{"entityName": "Ada", "observations": ["is a countess"]}]),
        call("read_graph"),
        call("add_observations", observations=[{"entityName": "Nobody", "contents": ["x"]}]),
    ]


def time() -> list[dict]:
    return [
        request("tools/list"),
        call("get_current_time", timezone="Europe/Berlin"),
        call("convert_time", source_timezone="UTC", time="16:30", target_timezone="Asia/Tokyo"),
        call("convert_time", source_timezone="Nowhere/Land", time="16:30", target_timezone="UTC"),
    ]


def fetch(url: str) -> list[dict]:
    return [
        request("tools/list"),
        request("prompts/list"),
        call("fetch", url=url),
        call("fetch", url=url, max_length=10, start_index=5),
        call("fetch", url=f"{url}.missing"),
        call("fetch", url="no address"),
        request("prompts/get", name="fetch", arguments={"url": url}),
    ]


def git(folder: str) -> list[dict]:
    return [
        request("tools/list"),
        call("git_status", repo_path=folder),
        call("git_diff_unstaged", repo_path=folder),
        call("git_add", repo_path=folder, files=["note.txt"]),
        call("git_diff_staged", repo_path=folder),
        call("git_commit", repo_path=folder, message="a note"),
        call("git_log", repo_path=folder, max_count=2),
        call("git_create_branch", repo_path=folder, branch_name="side"),
        call("git_checkout", repo_path=folder, branch_name="side"),
        call("git_show", repo_path=folder, revision="HEAD"),
        call("git_status", repo_path="/"),
    ]


def asking(rounds: bool = True) -> list[dict]:
    """The tools that the example `everything` and its peers in `servers/` have in common."""
    steps = [
        request("tools/list"),
        call("ask_form"),
        call("ask_url", url=ADDRESS),
        call("no_such_tool"),
    ]
    return [*steps, call("ask_two")] if rounds else steps
