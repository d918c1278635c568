#!/bin/sh
# The steps of the GitHub Action in action.yml: action.sh prepare, run or comment. They take their inputs from variables, never
# from texts that are put into a script. It needs git, curl and jq, and bubblewrap unless nothing is to run.
set -eu

fail() {
	echo "::error::$1" >&2
	exit 2
}

# api calls GitHub's API. The token does not show in the list of processes.
api() {
	printf 'header = "Authorization: Bearer %s"\n' "$TOKEN" |
		curl -fsSL --retry 2 --max-time 60 --config - -H 'Accept: application/vnd.github+json' "$@"
}

# may_start refuses events and people that must not start a job with a key.
may_start() {
	case $GITHUB_EVENT_NAME in
	pull_request_target)
		fail "attractor does not run for pull_request_target: that event gives secrets to a job about the code of anybody; use pull_request" ;;
	workflow_run)
		from=$(jq -r '.workflow_run.head_repository.full_name // ""' "$GITHUB_EVENT_PATH")
		[ "$from" = "$GITHUB_REPOSITORY" ] ||
			fail "attractor does not run for a workflow_run of the fork ${from:-that is gone}: it would have secrets and the code of anybody" ;;
	esac
	for who in "$GITHUB_ACTOR" "${GITHUB_TRIGGERING_ACTOR:-$GITHUB_ACTOR}"; do
		name=$(jq -rn --arg name "$who" '$name | @uri')
		may=$(api "$GITHUB_API_URL/repos/$GITHUB_REPOSITORY/collaborators/$name/permission" | jq -r .permission) || may=unknown
		case $may in
		admin | write) ;;
		*) fail "attractor runs only for people who can write to $GITHUB_REPOSITORY; the permission of $who is: ${may:-unknown}" ;;
		esac
	done
}

# takes refuses inputs that would be misunderstood.
takes() {
	case $READ_ONLY in
	true) [ -z "$CHECK" ] || fail "with read-only: true nothing runs, so no check does: leave one of them out" ;;
	false) ;;
	*) fail "read-only can be true or false, and not $READ_ONLY" ;;
	esac
	case $SANDBOX in
	workspace | read-only) ;;
	*) fail "attractor does not run commands without a sandbox here: sandbox can be workspace or read-only, and not $SANDBOX" ;;
	esac
	git -C "$DIRECTORY" rev-parse --quiet --verify HEAD >/dev/null ||
		fail "directory has to be a checkout, as of actions/checkout, and $DIRECTORY is none"
}

# prepare looks who asks, installs attractor and tries the sandbox. It has no key.
prepare() {
	may_start
	takes
	if git -C "$DIRECTORY" config --local --get-regexp '^(http\..*\.extraheader|includeif\..*)$' >/dev/null; then
		fail "the checkout may keep a token that commands could read: give actions/checkout persist-credentials: false"
	fi
	case $VERSION in
	v[0-9]*.[0-9]*.[0-9]*) ;;
	*) VERSION= ;; # a branch or a commit
	esac
	if [ -n "$VERSION" ] || ! command -v attractor >/dev/null; then
		ATTRACTOR_VERSION=$VERSION ATTRACTOR_PREFIX=$RUNNER_TEMP/attractor-program sh "$GITHUB_ACTION_PATH/install.sh"
		PATH=$RUNNER_TEMP/attractor-program/bin:$PATH
		echo "$RUNNER_TEMP/attractor-program/bin" >>"$GITHUB_PATH"
	fi
	[ "$READ_ONLY" != true ] || return 0
	attractor tool --sandbox "$SANDBOX" --dir "$DIRECTORY" shell '{"command":"true"}' ||
		fail "the sandbox does not work here, and nothing runs without it. On Ubuntu, add a step: sudo apt-get install -y bubblewrap && sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
}

# with_key runs attractor with arguments, and gives it the key, which no other process of the step has.
with_key() (
	case $key_variable in
	*_KEY | *_TOKEN) ;;
	*) fail "api-key-variable has to be the name of a variable for a key, such as OPENAI_API_KEY, and not $key_variable" ;;
	esac
	export "$key_variable=$key"
	exec attractor "$@"
)

# run runs the agent and leaves its files.
run() {
	key=$KEY key_variable=$KEY_VARIABLE
	unset KEY KEY_VARIABLE
	[ -n "$key" ] || fail "there is no api-key: pull requests of forks get no secrets, and a secret that is not set is empty"
	files=$RUNNER_TEMP/attractor-files
	rm -rf "$files"
	mkdir -p "$files"
	echo "files=$files" >>"$GITHUB_OUTPUT"
	printf '%s' "$CONTEXT" >"$RUNNER_TEMP/attractor-context"

	set -- run --dir "$DIRECTORY" --budget-usd "$BUDGET_USD" --timeout "$TIMEOUT" --json \
		--output "$files/answer.md" --result "$files/result.json"
	if [ "$READ_ONLY" = true ]; then
		set -- "$@" --read-only
	else
		set -- "$@" --yes --sandbox "$SANDBOX"
	fi
	[ -z "$MODEL" ] || set -- "$@" --model "$MODEL"
	[ -z "$CHECK" ] || set -- "$@" --check "$CHECK"
	while read -r host; do
		[ -z "$host" ] || set -- "$@" --allow-host "$host"
	done <<-END
		$ALLOW_HOSTS
	END
	start=$(git -C "$DIRECTORY" rev-parse HEAD)
	status=0
	with_key "$@" -- "$PROMPT" <"$RUNNER_TEMP/attractor-context" >"$files/events.jsonl" || status=$?

	# Nothing that the agent has left in the checkout may run here: the index is one of our own, without repositories that the agent
	# has added, because git looks for changes in these, and runs what they name. git add of a directory looks for changes in all
	# submodules, so only new files are named.
	set -- git -C "$DIRECTORY" -c core.hooksPath=/dev/null -c core.fsmonitor=false
	export GIT_INDEX_FILE="$files/index"
	"$@" read-tree "$start"
	"$@" ls-files -z --others --exclude-standard | xargs -0 -r "$@" --literal-pathspecs add --intent-to-add --
	"$@" diff --binary --no-ext-diff --no-textconv --ignore-submodules=dirty "$start" >"$files/agent.patch"
	unset GIT_INDEX_FILE
	rm -f "$files/index"
	session=
	[ ! -s "$files/result.json" ] || session=$(jq -r '.session_id // empty' "$files/result.json")
	[ -z "$session" ] || attractor sessions export "$session" --html "$files/session.html"

	changed=false
	[ ! -s "$files/agent.patch" ] || changed=true
	printf 'changed=%s\nexit-code=%s\n' "$changed" "$status" >>"$GITHUB_OUTPUT"
	[ ! -s "$files/answer.md" ] || quoted "$files/answer.md" >>"$GITHUB_STEP_SUMMARY"
	[ "$status" -eq 0 ] ||
		echo "attractor has ended with exit code $status. The log of this step says why." >>"$GITHUB_STEP_SUMMARY"
	exit "$status"
}

# quoted prints a file as a block of code, so that nothing in it is interpreted: neither a picture, which would tell its host what
# stands in its URL, nor a mention.
quoted() {
	fence=$(grep -o '`*' "$1" | LC_ALL=C sort | tail -n 1)
	case $fence in
	'``'*) fence=$fence'`' ;;
	*) fence='```' ;;
	esac
	printf '%stext\n' "$fence"
	head -c 60000 "$1" | fold -s -w 120
	[ "$(wc -c <"$1")" -le 60000 ] || printf '\n[The rest is in the artifact.]'
	printf '\n%s\n' "$fence"
}

# comment posts the answer, which attractor has masked.
comment() {
	case $NUMBER in
	*[!0-9]* | '') fail "comment has to be the number of an issue or a pull request, and not $NUMBER" ;;
	esac
	[ -s "$FILES/answer.md" ] || fail "there is no answer to comment with"
	quoted "$FILES/answer.md" >"$RUNNER_TEMP/attractor-comment"
	jq -n --rawfile body "$RUNNER_TEMP/attractor-comment" '{body: $body}' >"$RUNNER_TEMP/attractor-comment.json"
	api --data-binary "@$RUNNER_TEMP/attractor-comment.json" -H 'Content-Type: application/json' -o /dev/null \
		"$GITHUB_API_URL/repos/$GITHUB_REPOSITORY/issues/$NUMBER/comments"
}

case ${1:-} in
prepare | run | comment) "$1" ;;
*) fail "action.sh takes prepare, run or comment" ;;
esac
