echo "Notes of the release"
