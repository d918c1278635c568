package ext_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/attractor-go/attractor/ext"
	"github.com/attractor-go/attractor/profile"
)

// A host reads the files of skills and adds a tool to its profile. The tool's guidance, which
// becomes part of the system prompt, lists the skills.
func ExampleSkillTool() {
	file := ext.File{Name: ".agents/skills/release/SKILL.md", Origin: ext.Project,
		Data: []byte("---\nname: release\ndescription: Makes a release. Use it when a version is to be " +
			"published.\n---\n1. Run the tests.\n2. Write the changelog.\n")}
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

// A person calls a command with arguments. The host runs the script, and puts its output and the
// file in their places.
func ExampleCommand_Fill() {
	command, mistakes := ext.ParseCommand(ext.File{Name: ".claude/commands/review.md", Origin: ext.Project,
		Data: []byte(
			"---\ndescription: Reviews a branch.\nargument-hint: <branch>\n---\nReview $1 by @docs/style.md:\n!`git " +
				"diff main...$1`\n")},
		ext.CommandName("review.md"))
	for _, m := range mistakes {
		log.Print(m.Error())
	}
	pieces, err := command.Fill("fix;reboot")
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range pieces {
		switch p.Kind {
		case ext.PieceText:
			fmt.Printf("text %q\n", p.Text)
		case ext.PieceShell:
			fmt.Printf("output of %s\n", p.Text)
		case ext.PieceFile:
			fmt.Printf("content of %s\n", p.Text)
		}
	}
	// Output:
	// text "Review fix;reboot by "
	// content of docs/style.md
	// text ":\n"
	// output of git diff main...'fix;reboot'
	// text "\n"
}

// An agent that a model may start by its name. What is not supported is a mistake, and the rest
// counts.
func ExampleParseAgent() {
	agent, mistakes := ext.ParseAgent(ext.File{Name: ".claude/agents/tester.md", Origin: ext.Project, Data: []byte(
		"---\nname: tester\ndescription: Runs the tests.\ntools: Bash, Read\ncolour: green\n---\nYou run tests and " +
			"change nothing.\n")}, "tester")
	fmt.Printf("%s may use %v: %s\n", agent.Name, agent.Tools, agent.Prompt)
	for _, m := range mistakes {
		fmt.Println(m.Error())
	}
	// Output:
	// tester may use [Bash Read]: You run tests and change nothing.
	// .claude/agents/tester.md, line 5: unknown fields have no effect: colour; the supported fields are name, description, tools, disallowedTools, model, effort, maxTurns, permissionMode, isolation
}
