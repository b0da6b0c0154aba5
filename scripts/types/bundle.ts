/**
 * One declaration file per entry of the package: every exported name, and the types that these need, as plain types.
 * Types that the sources derive from schemas or tables are expanded, so that the schema library is not published.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import ts from 'typescript';

const root = join(import.meta.dirname, '..', '..');
const ENTRIES = ['index', 'store', 'live', 'evals'];
/** The declarations from the compiler, one file per source. */
const emitted = join(root, 'dist', 'declarations');
const HEAD = '/// <reference lib="esnext.disposable" />\n';

type Named =
  | ts.InterfaceDeclaration
  | ts.TypeAliasDeclaration
  | ts.ClassDeclaration
  | ts.FunctionDeclaration
  | ts.VariableDeclaration;

const isNamed = (node: ts.Node): node is Named =>
  ts.isInterfaceDeclaration(node) ||
  ts.isTypeAliasDeclaration(node) ||
  ts.isClassDeclaration(node) ||
  ts.isFunctionDeclaration(node) ||
  ts.isVariableDeclaration(node);

const WRITTEN_OUT =
  ts.NodeBuilderFlags.NoTruncation |
  ts.NodeBuilderFlags.InTypeAlias |
  ts.NodeBuilderFlags.MultilineObjectLiterals |
  ts.NodeBuilderFlags.UseSingleQuotesForStringLiteralType;

/** The text of one entry. */
class Bundle {
  readonly #checker: ts.TypeChecker;
  readonly #entry: string;
  /** Exported symbol → its name in the bundle. A type without a public name is a mistake in the entry. */
  readonly #names = new Map<ts.Symbol, string>();
  readonly #unnamed: string[] = [];
  /** Types that their own source does not export either. */
  readonly #local = new Set<ts.Symbol>();
  readonly #texts = new Map<ts.Symbol, string>();

  constructor(program: ts.Program, entry: ts.SourceFile) {
    this.#entry = basename(entry.fileName);
    this.#checker = program.getTypeChecker();
    const module = this.#checker.getSymbolAtLocation(entry) as ts.Symbol;
    const exported = this.#checker.getExportsOfModule(module);
    for (const symbol of exported) this.#names.set(this.#real(symbol), symbol.name);
    for (const symbol of this.#names.keys()) this.#texts.set(symbol, this.#write(symbol));
    if (this.#unnamed.length > 0)
      throw new Error(`${this.#entry}: export the public types ${this.#unnamed.join(', ')}`);
  }

  text(): string {
    const byName = [...this.#texts].sort(([a], [b]) =>
      this.#nameOf(a) < this.#nameOf(b) ? -1 : 1,
    );
    return `${HEAD}\n${byName.map(([, text]) => text).join('\n\n')}\n\nexport {};\n`;
  }

  #real(symbol: ts.Symbol): ts.Symbol {
    return symbol.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol;
  }

  #nameOf(symbol: ts.Symbol): string {
    const name = this.#names.get(symbol);
    if (name !== undefined) return name;
    if (isExported(symbol)) this.#unnamed.push(symbol.name);
    else this.#local.add(symbol);
    if ([...this.#names.values()].includes(symbol.name))
      throw new Error(`${this.#entry}: two types have the name ${symbol.name}`);
    this.#names.set(symbol, symbol.name);
    return symbol.name;
  }

  #write(symbol: ts.Symbol): string {
    const written = (symbol.declarations ?? [])
      // A schema has the name of its type; the type alone is published.
      .filter((node, _, all) => all.length === 1 || !ts.isVariableDeclaration(node))
      .map((node) => {
        if (!isNamed(node))
          throw new Error(`${symbol.name}: ${ts.SyntaxKind[node.kind]} is not bundled`);
        return this.#declaration(node, symbol);
      });
    if (written.length === 0) throw new Error(`${symbol.name} has no declaration`);
    return written.join('\n\n');
  }

  #declaration(node: Named, symbol: ts.Symbol): string {
    const statement = ts.isVariableDeclaration(node) ? node.parent.parent : node;
    const file = node.getSourceFile();
    const comment = ts.getJSDocCommentsAndTags(statement).find(ts.isJSDoc)?.getText(file);
    const head = `${comment === undefined ? '' : `${comment}\n`}${this.#local.has(symbol) ? '' : 'export '}`;
    if (ts.isTypeAliasDeclaration(node) && isDerived(node.type)) {
      if (node.typeParameters)
        throw new Error(`${symbol.name} has parameters and is derived from a value`);
      return `${head}type ${this.#nameOf(symbol)} = ${this.#expanded(node, this.#checker.getTypeAtLocation(node.name))};`;
    }
    const text = this.#renamed(statement, file).replace(/^(?:export |declare |default )*/, '');
    const declare =
      ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) ? '' : 'declare ';
    return `${head}${declare}${text}`;
  }

  /** The text of a declaration, with references renamed as in the bundle. */
  #renamed(statement: ts.Node, file: ts.SourceFile): string {
    const start = statement.getStart(file);
    let text = statement.getText(file);
    const edits: [from: number, to: number, name: string][] = [];
    const visit = (node: ts.Node): void => {
      if (isMadeOfValue(node)) {
        edits.push([
          node.getStart(file),
          node.end,
          this.#expanded(node, this.#checker.getTypeAtLocation(node)),
        ]);
        return;
      }
      if (ts.isImportTypeNode(node)) throw new Error(`${text}: an imported type must be named`);
      if (ts.isIdentifier(node)) {
        const name = this.#reference(node);
        if (name !== null && name !== node.text) edits.push([node.getStart(file), node.end, name]);
      }
      ts.forEachChild(node, visit);
    };
    visit(statement);
    for (const [from, to, name] of edits.reverse())
      text = text.slice(0, from - start) + name + text.slice(to - start);
    return text;
  }

  /** The bundle's name of the target of an identifier; null for a member, a parameter or a global. */
  #reference(node: ts.Identifier): string | null {
    const found = this.#checker.getSymbolAtLocation(node);
    if (found === undefined) return null;
    const symbol = this.#real(found);
    const [declared] = symbol.declarations ?? [];
    if (declared === undefined || !isNamed(declared)) return null;
    const file = declared.getSourceFile();
    const statement = ts.isVariableDeclaration(declared) ? declared.parent.parent : declared;
    if (statement.parent !== file) return null;
    if (file.fileName.startsWith(`${emitted}/`)) return this.#nameOf(symbol);
    if (ts.isExternalModule(file))
      throw new Error(`${node.text} of ${relative(root, file.fileName)} is not published`);
    return null;
  }

  #expanded(node: ts.Node, type: ts.Type): string {
    const made = this.#checker.typeToTypeNode(type, node, WRITTEN_OUT);
    const printer = ts.createPrinter({ removeComments: true });
    return printer.printNode(ts.EmitHint.Unspecified, made as ts.TypeNode, node.getSourceFile());
  }
}

const isExported = (symbol: ts.Symbol) =>
  symbol.declarations?.some(
    (node) => ts.getCombinedModifierFlags(node) & ts.ModifierFlags.Export,
  ) ?? false;

/** `typeof WORD`, or a part of it. */
const isMadeOfValue = (node: ts.Node): boolean =>
  ts.isTypeQueryNode(node) || (ts.isIndexedAccessTypeNode(node) && isDerived(node.objectType));

/** Whether a type is derived from a value: a schema or a table of words. */
function isDerived(node: ts.Node): boolean {
  return (
    ts.isTypeQueryNode(node) ||
    ts.forEachChild(node, (child) => isDerived(child) || undefined) === true
  );
}

const entries = ENTRIES.map((name) => join(emitted, `${name}.d.ts`));
const program = ts.createProgram(entries, {
  target: ts.ScriptTarget.ES2024,
  lib: ['lib.esnext.d.ts'],
  module: ts.ModuleKind.NodeNext,
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  types: ['node'],
});
for (const path of entries) {
  const text = new Bundle(program, program.getSourceFile(path) as ts.SourceFile).text();
  writeFileSync(join(root, 'dist', basename(path)), text);
}
rmSync(emitted, { recursive: true });
