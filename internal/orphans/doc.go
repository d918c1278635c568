// Package orphans makes tests fail that leave processes behind.
package orphans
