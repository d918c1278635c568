# Refuses to remove directories.
if tee -a hooks.log | grep -q 'rm -rf'; then
	echo "Directories are removed by hand." >&2
	exit 2
fi
