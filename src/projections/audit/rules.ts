/** The built-in rules of the audit. Users add their own and switch these off by id. */
import type { AuditCategory, AuditSeverity } from '../../model/words.ts';
import type { AuditRule, CommandMatch } from './rule.ts';

/** `git push` with any of the options. */
const c = (command: string, ...options: string[]): CommandMatch => ({
  command,
  ...(options.length > 0 && { options }),
});
const all = (...commands: string[]) => commands.map((command) => c(command));

type Row = readonly [
  id: string,
  severity: AuditSeverity,
  about: string,
  conditions: Pick<AuditRule, 'commands' | 'paths' | 'except' | 'access' | 'tools' | 'special'>,
];

const DESTRUCTIVE: readonly Row[] = [
  [
    'delete-recursive',
    'high',
    'deletes a folder and everything in it',
    {
      commands: [
        c('rm', '-r', '-R', '--recursive'),
        c('remove-item', '-recurse', '-r'),
        ...[c('ri', '-recurse', '-r'), c('del', '/s'), c('rd', '/s'), c('rmdir', '/s')],
        ...[c('rimraf'), c('find', '-delete'), c('trash'), c('shred')],
      ],
    },
  ],
  [
    'delete-file',
    'low',
    'deletes files',
    { commands: all('rm', 'unlink', 'remove-item', 'ri', 'del', 'erase') },
  ],
  [
    'git-discard',
    'high',
    'discards work in a git repository',
    {
      commands: [
        c('git reset', '--hard', '--merge', '--keep'),
        c('git clean', '-f', '--force'),
        c('git checkout', '--', '-f', '--force'),
        { command: 'git checkout', args: ['.'] },
        c('git switch', '--discard-changes', '-f', '--force'),
        { command: 'git restore', unless: ['--staged', '-S'] },
        ...all('git stash drop', 'git stash clear', 'git reflog expire', 'git filter-branch'),
        ...all('git filter-repo', 'git gc --prune=now', 'git worktree remove'),
        c('git branch', '-D'),
        c('git tag', '-d', '--delete'),
        c('git update-ref', '-d'),
      ],
    },
  ],
  [
    'git-force-push',
    'high',
    'replaces or deletes commits in a remote repository',
    {
      commands: [
        c('git push', '-f', '--force*', '--mirror', '--delete', '-d', '--prune'),
        { command: 'git push', args: ['+*', ':*'] },
      ],
    },
  ],
  [
    'permissions-recursive',
    'medium',
    'changes owners or permissions of whole folders, or permits everything',
    {
      commands: [
        ...[c('chmod', '-R', '--recursive'), c('chown', '-R', '--recursive')],
        ...[c('chgrp', '-R', '--recursive'), c('icacls', '/t'), c('setfacl', '-R')],
        { command: 'chmod', args: ['777', '0777', 'a+w*', 'o+w*'] },
      ],
    },
  ],
  [
    'disk',
    'high',
    'writes to a disk device or a file system',
    {
      commands: [
        ...all('mkfs*', 'wipefs', 'fdisk', 'sfdisk', 'parted', 'format-volume'),
        ...all('diskutil erase*', 'diskpart', 'blkdiscard'),
        { command: 'format', args: ['?:'] },
        { command: 'dd', args: ['of=*'] },
      ],
    },
  ],
  [
    'overwrite-important',
    'high',
    'replaces the content of an important file',
    {
      paths: [
        ...['/etc/**', '/boot/**', '/usr/**', '/dev/{sd,nvme,disk,hd,vd}*', '~/.{bash,zsh}*'],
        ...['~/.profile', '~/.gitconfig', '.git/**', '*.{db,sqlite,sqlite3,sql}'],
      ],
      access: 'replace',
    },
  ],
  [
    'truncate',
    'medium',
    'cuts files',
    { commands: [c('truncate'), c('clear-content'), c('fallocate', '-p', '-z')] },
  ],
  [
    'cluster',
    'high',
    'deletes resources of a cluster or a cloud',
    {
      commands: [
        ...all('kubectl delete', 'kubectl drain', 'oc delete', 'helm uninstall', 'helm delete'),
        ...all('terraform destroy', 'tofu destroy', 'pulumi destroy', 'cdk destroy'),
        c('terraform apply', '-destroy', '--destroy'),
        ...[{ command: 'aws *', args: ['delete-*', 'terminate-*', 'rb', 'deregister-*'] }],
        c('aws s3 rm'),
        ...[
          { command: 'gcloud *', args: ['delete'] },
          { command: 'az *', args: ['delete', 'purge'] },
        ],
        ...all('gh repo delete', 'gh release delete', 'heroku apps:destroy', 'fly destroy'),
        ...all('vercel rm', 'wrangler delete', 'firebase firestore:delete', 'gsutil rm'),
      ],
    },
  ],
  [
    'containers',
    'medium',
    'removes containers, images or volumes',
    {
      commands: ['docker', 'podman'].flatMap((program) => [
        ...all(`${program} * prune`, `${program} volume rm`, `${program} rm`, `${program} rmi`),
        c(`${program} compose down`, '-v', '--volumes'),
        c(`${program}-compose down`, '-v', '--volumes'),
      ]),
    },
  ],
  [
    'database',
    'high',
    'drops a database, a table or all of its rows',
    {
      commands: [
        ...all('dropdb', 'dropuser', 'mysqladmin drop', 'redis-cli flush*', 'rails db:drop'),
        ...all('rake db:drop', 'prisma migrate reset', 'npx prisma migrate reset'),
      ],
      special: 'sql',
    },
  ],
  [
    'system',
    'high',
    'changes the system or ends other programs',
    {
      commands: [
        ...all('shutdown', 'reboot', 'halt', 'poweroff', 'init 0', 'userdel', 'stop-computer'),
        ...[c('crontab', '-r'), c('iptables', '-F', '--flush'), c('systemctl stop')],
        ...[c('systemctl disable'), c('launchctl unload'), c('ufw disable'), c('visudo')],
      ],
    },
  ],
  [
    'kill-all',
    'medium',
    'ends programs by name',
    { commands: all('pkill', 'killall', 'taskkill') },
  ],
];

const SECRET: readonly Row[] = [
  [
    'secret-file',
    'high',
    'uses a file that usually contains secrets',
    {
      paths: [
        ...['.env', '.env.*', '*.env', '.envrc', '*.pem', '*.key', '*.p12', '*.pfx', '*.jks'],
        ...['*.keystore', 'id_{rsa,dsa,ecdsa,ed25519}*', '.netrc', '_netrc', '.npmrc', '.pypirc'],
        ...['.git-credentials', '.htpasswd', '.pgpass', '.my.cnf', 'credentials.json'],
        ...['*service[-_]account*.json', 'client_secret*.json', 'secrets.{yml,yaml,json,toml}'],
        ...['*.kdbx', 'terraform.tfvars', '*.tfstate', 'wp-config.php', 'master.key', '.vault-*'],
        ...['~/.ssh/**', '~/.aws/**', '~/.gnupg/**', '~/.kube/**', '~/.docker/config.json'],
        ...['~/.config/gcloud/**', '~/.azure/**', '~/.config/gh/**', '~/.config/op/**'],
        ...['~/.password-store/**', '~/.local/share/keyrings/**', '~/Library/Keychains/**'],
        ...['~/.cargo/credentials*', '~/.gem/credentials', '.credentials.json'],
        ...['/etc/shadow', '/etc/sudoers*', '/proc/*/environ', '/run/secrets/**'],
      ],
      except: ['*.{example,sample,template,dist,defaults}', '*.pub', '~/.ssh/known_hosts*'],
    },
  ],
  [
    'browser-profile',
    'high',
    'uses the profile of a browser',
    {
      paths: [
        ...['**/Google/Chrome/**', '**/google-chrome/**', '**/chromium/**', '**/Chromium/**'],
        ...['**/.mozilla/firefox/**', '**/Firefox/Profiles/**', '**/BraveSoftware/**'],
        ...['**/Microsoft/Edge/**', '**/Library/Safari/**', '**/Library/Cookies/**'],
        ...['logins.json', 'key4.db', 'Login Data', 'cookies.sqlite'],
      ],
    },
  ],
  [
    'secret-store',
    'high',
    'asks a store of secrets',
    {
      commands: [
        ...all('security find-*-password', 'security dump-keychain', 'pass show', 'op read'),
        ...all('op item get', 'vault kv get', 'vault read', 'gpg --export-secret-keys'),
        ...all('aws secretsmanager get-secret-value', 'aws ssm get-parameter*'),
        ...all('gcloud secrets versions', 'kubectl get secret*', 'gh auth token', 'bw get'),
        c('gpg', '--export-secret-keys'),
      ],
    },
  ],
  ['environment', 'low', 'prints the environment', { commands: all('printenv') }],
];

const NETWORK: readonly Row[] = [
  [
    'downloaded-code',
    'high',
    'runs code from the network without reading it first',
    { special: 'downloaded-code' },
  ],
  [
    'upload',
    'medium',
    'sends data to another machine',
    {
      commands: [
        c('curl', '-d', '--data*', '-F', '--form*', '-T', '--upload-file', '--json'),
        { command: 'curl', args: ['POST', 'PUT', 'PATCH', 'DELETE'] },
        c('wget', '--post-data*', '--post-file*', '--method*', '--body-*'),
        ...all('scp', 'sftp', 'ftp', 'rclone', 'nc', 'ncat', 'netcat', 'socat', 'telnet'),
        { command: 'rsync', args: ['*:*'] },
        ...all('git push', 'npm publish', 'pnpm publish', 'yarn publish', 'cargo publish'),
        ...all('twine upload', 'gem push', 'docker push', 'podman push', 'gh release create'),
        ...all('gh gist create', 'gh pr create', 'gh issue create', 'aws s3 cp', 'aws s3 sync'),
        ...all('gsutil cp', 'vercel deploy', 'netlify deploy', 'kubectl apply', 'terraform apply'),
      ],
    },
  ],
  ['remote-shell', 'medium', 'runs commands on another machine', { commands: all('ssh', 'mosh') }],
  [
    'install',
    'low',
    'installs packages from the network',
    {
      commands: [
        ...['npm', 'pnpm', 'yarn', 'bun'].flatMap((program) =>
          all(`${program} install`, `${program} add`, `${program} i`, `${program} ci`),
        ),
        ...all('npx', 'bunx', 'pnpm dlx', 'yarn dlx', 'uvx', 'pipx', 'uv add', 'uv pip install'),
        ...all('uv sync', 'pip install', 'pip3 install', 'poetry add', 'poetry install'),
        { command: 'python*', args: ['pip'] },
        ...all('gem install', 'bundle install', 'cargo install', 'cargo add', 'go get'),
        ...all('go install', 'apt install', 'apt-get install', 'apk add', 'yum install'),
        ...all('dnf install', 'brew install', 'pacman *', 'choco install', 'winget install'),
        ...all('composer require', 'composer install', 'dotnet add', 'docker pull', 'podman pull'),
        ...all('snap install', 'conda install', 'install-module'),
      ],
    },
  ],
  [
    'download',
    'low',
    'reads from the network',
    {
      commands: [
        ...all('curl', 'wget', 'aria2c', 'http', 'https', 'invoke-webrequest', 'iwr', 'irm'),
        ...all('invoke-restmethod', 'git clone', 'git fetch', 'git pull', 'git ls-remote'),
        ...all('git submodule update', 'gh api', 'gh repo clone', 'lynx', 'w3m', 'dig', 'nslookup'),
      ],
      tools: ['WebFetch', 'WebSearch'],
    },
  ],
];

const OUTSIDE: readonly Row[] = [
  ['write-outside', 'medium', 'changes a file outside the project', { special: 'outside-write' }],
  ['read-outside', 'low', 'reads a file outside the project', { special: 'outside-read' }],
];

const DENIALS: readonly Row[] = [
  [
    'denied-then-done',
    'high',
    'was denied, then done in the same or another way',
    { special: 'denied-then-done' },
  ],
  ['denied', 'info', 'was denied', { special: 'denied' }],
];

const TABLES: Readonly<Record<AuditCategory, readonly Row[]>> = {
  destructive: DESTRUCTIVE,
  secret: SECRET,
  network: NETWORK,
  outside: OUTSIDE,
  denial: DENIALS,
  custom: [],
};

export const AUDIT_RULES: readonly AuditRule[] = Object.entries(TABLES).flatMap(
  ([category, rows]) =>
    rows.map(
      ([id, severity, about, conditions]): AuditRule => ({
        ...{ id, severity, category: category as AuditCategory, about },
        ...conditions,
      }),
    ),
);
