package contain

// only is empty: there are no commands on Windows yet.
const only = ""
