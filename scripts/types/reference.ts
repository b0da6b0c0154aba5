/** docs/reference/library.md: the exports of every entry, with options and defaults, as the sources document them. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { markdownTable } from '../markdown.ts';

const src = join(import.meta.dirname, '..', '..', 'src');

type Declared =
  | ts.InterfaceDeclaration
  | ts.TypeAliasDeclaration
  | ts.ClassDeclaration
  | ts.FunctionDeclaration
  | ts.VariableStatement;

interface Export {
  name: string;
  node: Declared;
  file: ts.SourceFile;
}

const parsed = new Map<string, ts.SourceFile>();

function parse(path: string): ts.SourceFile {
  let file = parsed.get(path);
  if (file === undefined) {
    file = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
    parsed.set(path, file);
  }
  return file;
}

const isDeclared = (node: ts.Node): node is Declared =>
  ts.isInterfaceDeclaration(node) ||
  ts.isTypeAliasDeclaration(node) ||
  ts.isClassDeclaration(node) ||
  ts.isFunctionDeclaration(node) ||
  ts.isVariableStatement(node);

const nameOf = (node: Declared): string =>
  ts.isVariableStatement(node)
    ? (node.declarationList.declarations[0]?.name.getText() ?? '')
    : (node.name?.text ?? '');

/** The declaration of a name in a file, or in the file it is re-exported from. Types take precedence over values. */
function find(name: string, file: ts.SourceFile): Export | null {
  const here = file.statements.filter(isDeclared).filter((node) => nameOf(node) === name);
  const node = here.find((one) => !ts.isVariableStatement(one)) ?? here[0];
  if (node !== undefined) return { name, node, file };
  for (const statement of file.statements) {
    const from = (statement as ts.ImportDeclaration | ts.ExportDeclaration).moduleSpecifier;
    if (!from || !ts.isStringLiteral(from) || !from.text.startsWith('.')) continue;
    const named = ts.isImportDeclaration(statement)
      ? statement.importClause?.namedBindings
      : (statement as ts.ExportDeclaration).exportClause;
    const elements = named && 'elements' in named ? [...named.elements] : [];
    const one = elements.find((element) => (element as ts.ExportSpecifier).name.text === name);
    if (one === undefined) continue;
    const original = (one as ts.ExportSpecifier).propertyName?.text ?? name;
    const found = find(original, parse(join(dirname(file.fileName), from.text)));
    return found === null ? null : { ...found, name };
  }
  return null;
}

/** Names that an entry exports, and entries that it re-exports completely. */
function exportsOf(file: ts.SourceFile): { names: string[]; all_of: string[] } {
  const names: string[] = [];
  const all_of: string[] = [];
  for (const node of file.statements) {
    if (ts.isExportDeclaration(node)) {
      if (node.exportClause && ts.isNamedExports(node.exportClause))
        names.push(...node.exportClause.elements.map((element) => element.name.text));
      else all_of.push((node.moduleSpecifier as ts.StringLiteral).text);
    } else if (isDeclared(node) && ts.canHaveModifiers(node)) {
      const exported = ts
        .getModifiers(node)
        ?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
      if (exported) names.push(nameOf(node));
    }
  }
  return { names: [...new Set(names)].sort(), all_of };
}

function docOf(node: ts.Node): string {
  const doc = ts.getJSDocCommentsAndTags(node).find(ts.isJSDoc);
  return (ts.getTextOfJSDocComment(doc?.comment) ?? '').replace(/\s+/g, ' ').trim();
}

/** A member without a comment is a mistake. */
function memberDoc(member: ts.TypeElement): string {
  const text = docOf(member);
  if (text === '')
    throw new Error(`${member.parent.getText().slice(0, 60)}: document ${member.name?.getText()}`);
  return text;
}

const ENTRIES = {
  tacho: 'index.ts',
  'tacho/store': 'store.ts',
  'tacho/live': 'live.ts',
  'tacho/evals': 'evals.ts',
};

/** Declaration → the name under which an entry exports it. */
const publicNames = new Map<ts.Node, string>();

function nameExports(): void {
  for (const path of Object.values(ENTRIES)) {
    const file = parse(join(src, path));
    for (const name of exportsOf(file).names) {
      const found = find(name, file);
      if (found !== null) publicNames.set(found.node, name);
    }
  }
}

/** A text with types, by the names that programs import. */
const published = (text: string, file: ts.SourceFile) =>
  text.replace(/\b[A-Z]\w+\b/g, (word) => {
    const found = find(word, file);
    return (found && publicNames.get(found.node)) ?? word;
  });

/** `T | undefined` of an optional field is T. */
const typeText = (node: ts.TypeNode | undefined) =>
  `\`${(node ? published(node.getText(), node.getSourceFile()) : '')
    .replace(/\s+/g, ' ')
    .replace(/ \| undefined$/, '')
    .replace(/^\((.*)\)$/, '$1')}\``;

/** Names of fields in a type such as `'id' | Others`, with the names in `Others`. */
function keysIn(text: string, file: ts.SourceFile): string[] {
  return (text.match(/\w+/g) ?? []).flatMap((word) => {
    const alias = find(word, file)?.node;
    return alias && ts.isTypeAliasDeclaration(alias) ? keysIn(alias.type.getText(), file) : [word];
  });
}

function rowsOf({ node, file }: Export): string[][] {
  const rows: string[][] = [];
  for (const type of (node as ts.InterfaceDeclaration).heritageClauses?.flatMap(({ types }) => [
    ...types,
  ]) ?? []) {
    const [picked, keys] = type.typeArguments ?? [];
    const base = find(picked?.getText() ?? type.expression.getText(), file);
    if (base === null) continue;
    const wanted = keys === undefined ? null : keysIn(keys.getText(), file);
    rows.push(
      ...rowsOf(base).filter(([name = '']) => wanted?.includes(name.replaceAll('`', '')) ?? true),
    );
  }
  for (const member of (node as ts.InterfaceDeclaration).members) {
    const name = `\`${member.name?.getText() ?? ''}\``;
    if (ts.isPropertySignature(member))
      rows.push([
        name,
        typeText(member.type),
        memberDoc(member),
        member.questionToken ? '' : 'Required. ',
      ]);
  }
  return rows;
}

const optionRows = (one: Export) =>
  rowsOf(one).map(([name = '', type = '', text, need]) => [name, type, `${need}${text}`]);

const isOptions = ({ node, name }: Export) =>
  ts.isInterfaceDeclaration(node) &&
  (name.endsWith('Options') || name === 'RunFilter' || name === 'LiveCall');

/** `run(options: RunOptions): Run`, without a body. */
function signature({ node, name, file }: Export): string {
  let made: ts.Node = node;
  if (ts.isVariableStatement(node))
    made = node.declarationList.declarations[0]?.initializer ?? node;
  const { parameters, type } = made as ts.FunctionDeclaration;
  const given = parameters.map((one) => one.getText().replace(/^(\w+): (.*) = \{\}$/, '$1?: $2'));
  const text = `(${given.join(', ')}): ${type?.getText() ?? 'void'}`.replace(/\s+/g, ' ');
  return `${name}${published(text, file)}`;
}

/** The methods and properties of the result of a function. */
function membersOf({ node, file }: Export): string[][] {
  return (node as ts.InterfaceDeclaration).members.map((member) => {
    const text = member
      .getText()
      .replace(/;$/, '')
      .replace(/^readonly /, '');
    const flat = text.replace(/\s+/g, ' ').replace(/\( /g, '(').replace(/, \)/g, ')');
    return [`\`${published(flat, file)}\``, memberDoc(member)];
  });
}

const HANDLES = ['Run', 'Converted', 'Store', 'LiveConnection', 'LiveSession', 'Clock'];

/** `described`: names that an entry above describes; completed with those of this entry. */
function entryText(path: string, title: string, described: Set<string>): string {
  const file = parse(join(src, path));
  const { names, all_of } = exportsOf(file);
  const again = names.filter((name) => described.has(name));
  const found = names
    .filter((name) => !described.has(name))
    .map((name) => {
      const one = find(name, file);
      if (one === null) throw new Error(`${path}: ${name} is not found`);
      return one;
    });
  for (const name of names) described.add(name);
  const functions = found.filter(
    ({ node }) => ts.isFunctionDeclaration(node) || ts.isVariableStatement(node),
  );
  const parts = [`## \`${title}\``];
  for (const one of functions) parts.push(`### \`${signature(one)}\``, docOf(one.node));
  for (const one of found.filter(({ name }) => HANDLES.includes(name)))
    parts.push(
      `### \`${one.name}\``,
      docOf(one.node),
      markdownTable(['member', 'meaning'], membersOf(one)),
    );
  for (const one of found.filter(isOptions))
    parts.push(
      `### \`${one.name}\``,
      docOf(one.node),
      markdownTable(['option', 'type', 'meaning'], optionRows(one)),
    );
  const others = found.filter(
    (one) => !functions.includes(one) && !isOptions(one) && !HANDLES.includes(one.name),
  );
  for (const one of others.filter(({ node }) => ts.isInterfaceDeclaration(node)))
    parts.push(
      `### \`${one.name}\``,
      docOf(one.node),
      markdownTable(
        ['field', 'type', 'meaning'],
        rowsOf(one).map((row) => row.slice(0, 3)),
      ),
    );
  const named = others.filter(({ node }) => !ts.isInterfaceDeclaration(node));
  parts.push(
    `### Other names of \`${title}\``,
    markdownTable(
      ['name', 'meaning'],
      named.map(({ name, node }) => [`\`${name}\``, docOf(node)]),
    ),
  );
  if (again.length > 0)
    parts.push(`Described above: ${again.map((name) => `\`${name}\``).join(', ')}.`);
  if (all_of.length > 0) {
    const entries = all_of.map((from) => `\`tacho/${from.slice(2, -3)}\``).sort();
    parts.push(`It also exports everything from ${entries.join(', ')}.`);
  }
  return parts.filter((text) => text !== '').join('\n\n');
}

export function libraryReference(): string {
  nameExports();
  const described = new Set<string>();
  const entries = Object.entries(ENTRIES).map(([title, path]) => entryText(path, title, described));
  return `# The library

Generated by \`npm run generate\` from the sources. [As a library](../guide/as-a-library.md) explains how to use it.

Options are in camelCase. Records, such as [events](events.md) and outcomes, have the names of their JSON. An option that is
unknown, or of a wrong type, is a \`TachoError\` with the code \`usage\`.

${entries.join('\n\n')}

## Files

\`tacho/schema/NAME.json\` are the JSON Schemas: \`event\`, \`outcome\`, \`transcript\`, \`run-event\`, \`live\`. \`tacho/package.json\`
is exported too.
`;
}
