// Command go is a client of attractor run --input json without a library: go run . TASK [SECOND
// TASK]. It runs the tasks, prints the model's texts, approves edits, refuses commands and answers
// questions. ../client.py does the same in Python.
package main
