-- An app that lets its tokens expire (token rotation) gets a refresh token with each.
ALTER TABLE slack_installations ADD COLUMN sealed_refresh text, ADD COLUMN expires_at timestamptz;
