// Package webtest holds only tests. They open the viewer's page in a real browser and use it as a
// person would: they click, type and look. It is a module of its own, so that users of the library
// do not link what drives the browser.
package webtest
