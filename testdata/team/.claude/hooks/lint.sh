# Tells the model what the linter says.
cat >>hooks.log
echo '{"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "The linter has nothing to say."}}'
