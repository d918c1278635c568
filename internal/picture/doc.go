// Package picture fits images to what every vendor of models takes, so that none of them is refused
// in a later request: by their type, by their sides, by their bytes, and by whether they can be
// decoded at all.
package picture
