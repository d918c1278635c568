// Package orphans fails tests that leave processes behind.
package orphans
