[ "$(cat hello.txt)" = "Hello, world!" ] || { echo "hello.txt is wrong"; exit 1; }
