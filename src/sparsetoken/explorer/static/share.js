// What can be taken away: a table as CSV, and files.

/** Return a table as CSV. */
export function csv({ columns, rows }) {
  const cell = (value) => (/[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? ""));
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";
}

/** Give a file to the user. */
export function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
