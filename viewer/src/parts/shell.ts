// Command lines as a POSIX shell reads them: names may have spaces, quotes and what the shell would expand.

export function quoteShell(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  return `'${word.replaceAll("'", `'"'"'`)}'`;
}
