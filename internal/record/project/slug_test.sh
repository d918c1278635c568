. ./slug.sh
failed=0

check() {
	sleep 0.5 # long enough to be interrupted
	got=$(slug "$1")
	if [ "$got" = "$2" ]; then
		echo "ok    $1"
	else
		echo "FAIL  $1: got '$got', want '$2'"
		failed=1
	fi
}

check "hello" "hello"
check "Hello World" "hello-world"
check "Go 1.26: what's new?" "go-1-26-what-s-new"
check "  spaces   everywhere  " "spaces-everywhere"

exit $failed
