# slug TITLE prints a title as the last part of a URL: lower case, words joined by single dashes.
slug() {
	printf '%s' "$1" | tr 'A-Z' 'a-z' | tr ' ' '_'
}
