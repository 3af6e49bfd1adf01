#!/bin/sh
# Asks a person which environment to deploy to, using curl.
#
#   examples/ask.sh [URL]
#
# `entreat serve` must be running, by default at http://127.0.0.1:7171. If it requires a key, set
# ENTREAT_KEY.
set -eu
url=${1:-http://127.0.0.1:7171}

call() {
    curl --silent --show-error --fail-with-body \
        --header 'Content-Type: application/json' \
        ${ENTREAT_KEY:+--header "Authorization: Bearer $ENTREAT_KEY"} \
        --data "$1" "$url/rpc"
}

created=$(call '{"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": {
    "message": "The build is green.",
    "formDefinition": {"id": "deploy", "title": "Deploy", "fields": [
        {"id": "target", "type": "select", "label": "Where to?", "required": true,
         "options": ["staging", "production"]}]}}}')
member() {
    printf '%s' "$created" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"
}
id=$(member elicitationId)
if [ -z "$id" ]; then
    echo "the service returned an error: $created" >&2
    exit 1
fi
echo "asked: $id" >&2
echo "open this link to answer: $(member page)" >&2

# Waits until the question settles. The response may start with spaces, which keep it alive.
call '{"jsonrpc": "2.0", "id": 2, "method": "elicitation/await",
    "params": {"elicitationId": "'"$id"'"}}'
echo
