// Package web shows sessions in a browser: a page that a server on the loopback interface offers while sessions run, and the same page in one
// file that opens without a server.
//
// A Trace folds the journal of a session into what the page draws: rows for the timeline, and sums for the charts. The page gets rows in
// pieces, and the events behind a row when somebody opens it. It is plain JavaScript in page/, which never makes markup of a text.
package web
