package coding

import (
	"embed"
	"encoding/json"
)

// schemas holds the JSON Schemas of the tools' arguments, one file each. They say what the structs
// of the arguments say in their tags: reflection over these took longer than anything else at the
// start of a program. A test compares the two, and writes the files with -update.
//
//go:embed schemas/*.json
var schemas embed.FS

// schema returns the JSON Schema in a file. Without the file it returns nil, and tool.New infers
// the schema.
func schema(name string) json.RawMessage {
	text, err := schemas.ReadFile("schemas/" + name + ".json")
	if err != nil { // cannot happen: a test reads them all
		return nil
	}
	return text
}
