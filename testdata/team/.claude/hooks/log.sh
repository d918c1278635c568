# Keeps what a hook got.
cat >>hooks.log
