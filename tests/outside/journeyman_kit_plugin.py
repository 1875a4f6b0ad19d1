"""What JOURNEYMAN_PLUGINS names: importing it registers everything."""

import journeyman_kit

journeyman_kit.register()
