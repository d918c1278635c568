package coding

import "testing"

func TestE2_UpdatePlan(t *testing.T) {
	b := newFixture(t)
	step := func(text, status string) object { return object{"step": text, "status": status} }
	plan := func(steps ...object) object { return object{"explanation": "why", "plan": steps} }
	if got := b.ok(UpdatePlan(), plan(step("look", "completed"), step("change", "in_progress"),
		step("test", "pending"))); got != "Plan updated" {
		t.Errorf("%q", got)
	}
	b.fails(UpdatePlan(), plan(), "plan")
	b.fails(UpdatePlan(), plan(step("a", "done")), `plan[0].status is "done"`)
	b.fails(UpdatePlan(), plan(step("a", "pending"), step(" ", "pending")), "plan[1].step is empty")
	b.fails(UpdatePlan(), plan(step("a", "in_progress"), step("b", "in_progress")), "2 steps are in_progress")
}
