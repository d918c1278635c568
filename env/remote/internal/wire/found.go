package wire

import "github.com/attractor-go/attractor/search"

// Found is search.Result.
type Found struct {
	Files      List[Matches] `json:"files,omitempty"`
	More       bool          `json:"more,omitempty"`
	Searched   int           `json:"searched,omitempty"`
	Binary     int           `json:"binary,omitempty"`
	Stopped    bool          `json:"stopped,omitempty"`
	Unreadable List[Text]    `json:"unreadable,omitempty"`
}

// Matches is search.FileMatches.
type Matches struct {
	Path  Text       `json:"path"`
	Count int        `json:"count"`
	Lines List[Line] `json:"lines,omitempty"`
}

// elements returns how many elements the list of lines has.
func (m Matches) elements() int { return len(m.Lines) }

// Line is search.Line.
type Line struct {
	Number    int  `json:"n"`
	Text      Text `json:"text"`
	Match     bool `json:"match,omitempty"`
	CutBefore int  `json:"cut_before,omitempty"`
	CutAfter  int  `json:"cut_after,omitempty"`
}

// FoundOf returns a result for the wire.
func FoundOf(r search.Result) Found {
	f := Found{More: r.More, Stopped: r.Stopped, Searched: r.Searched, Binary: r.Binary,
		Unreadable: Texts(r.Unreadable)}
	for _, m := range r.Files {
		file := Matches{Path: Text(m.Path), Count: m.Count}
		for _, l := range m.Lines {
			file.Lines = append(file.Lines, Line{l.Number, Text(l.Text), l.Match, l.CutBefore, l.CutAfter})
		}
		f.Files = append(f.Files, file)
	}
	return f
}

// Search returns the result.
func (f Found) Search() search.Result {
	r := search.Result{More: f.More, Stopped: f.Stopped, Searched: f.Searched, Binary: f.Binary,
		Unreadable: Strings(f.Unreadable)}
	for _, m := range f.Files {
		file := search.FileMatches{Path: string(m.Path), Count: m.Count}
		for _, l := range m.Lines {
			file.Lines = append(file.Lines, search.Line{Number: l.Number, Text: string(l.Text), Match: l.Match,
				CutBefore: l.CutBefore, CutAfter: l.CutAfter})
		}
		r.Files = append(r.Files, file)
	}
	return r
}

// Listing is search.Listing.
type Listing struct {
	Files      List[File] `json:"files,omitempty"`
	Stopped    bool       `json:"stopped,omitempty"`
	Unreadable List[Text] `json:"unreadable,omitempty"`
}

// File is search.File.
type File struct {
	Path    Text  `json:"path"`
	Size    int64 `json:"size"`
	ModTime Time  `json:"mod_time"`
}

// ListingOf returns a listing for the wire.
func ListingOf(l search.Listing) Listing {
	w := Listing{Stopped: l.Stopped, Unreadable: Texts(l.Unreadable)}
	for _, f := range l.Files {
		w.Files = append(w.Files, File{Text(f.Path), f.Size, Time{f.ModTime}})
	}
	return w
}

// Search returns the listing. Like the engine of package search it has no nil list.
func (l Listing) Search() search.Listing {
	files := make([]search.File, len(l.Files))
	for i, f := range l.Files {
		files[i] = search.File{Path: string(f.Path), Size: f.Size, ModTime: f.ModTime.Time}
	}
	return search.Listing{Files: files, Stopped: l.Stopped, Unreadable: Strings(l.Unreadable)}
}
