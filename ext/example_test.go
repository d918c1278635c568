package ext_test

import (
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/ext"
	"github.com/attractor-go/attractor/profile"
)

// A host reads the files of skills and adds a tool to its profile. The tool's guidance, which becomes part of the system prompt, lists the skills.
func ExampleSkillTool() {
	file := ext.File{Name: ".agents/skills/release/SKILL.md", Origin: ext.Project, Data: []byte("---\nname: release\ndescription: Makes a release. Use it when a version is to be published.\n---\n" +
		"1. Run the tests.\n2. Write the changelog.\n")}
	skill, mistakes := ext.ParseSkill(file, "release")
	for _, m := range mistakes {
		fmt.Println(m.Error())
	}
	skillTool, _ := ext.SkillTool([]*ext.Skill{skill}, ext.DefaultListing)
	p := profile.Profile{Name: "mine"}
	p.Tools = append(p.Tools, skillTool)
	_, list, _ := strings.Cut(p.Tools[0].Guidance, "The skills:\n")
	fmt.Print(list)
	// Output: - `release`: Makes a release. Use it when a version is to be published.
}
